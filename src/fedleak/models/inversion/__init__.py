"""What a model's output says about its inputs: equations for linear models, boxes for trees."""
