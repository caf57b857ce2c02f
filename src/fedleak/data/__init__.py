"""Tables and images from their sources, and their partition among parties."""
