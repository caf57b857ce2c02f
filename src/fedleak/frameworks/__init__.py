"""Other people's federations on this machine: isolated environments, small runs, and captures of what was sent.

A folder for each framework has its recipe (versions, size, settings), its lock, the script that runs inside the
framework's own environment, and the decoder of what passes there. What stands after a hyphen in a name is another
federation of the same framework, in the same environment. That script needs numpy and ``fedleak.recorder``.
"""

FRAMEWORKS = (
    "xgboost",
    "flower",
    "flower-split",
    "flower-torch",
    "fate",
    "fate-secureboost",
    "nvflare",
    "nvflare-xgboost",
)
