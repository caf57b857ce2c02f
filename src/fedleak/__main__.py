from fedleak.cli.main import run

run()
