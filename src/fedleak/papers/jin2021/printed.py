"""The paper's own figures: PSNR in dB unless said, on two GPUs with the authors' code."""

from __future__ import annotations

CIFAR, MNIST, LINNAEUS = "CIFAR-10", "MNIST", "Linnaeus 5"
DATASETS = (CIFAR, MNIST, LINNAEUS)

TABLE_2 = {  # N = 800, M = 4, K = 40
    "CAFE": {CIFAR: 31.83, MNIST: 43.15, LINNAEUS: 33.22},
    "DLG": {CIFAR: 9.29, MNIST: 7.96, LINNAEUS: 7.14},
    "cosine similarity": {CIFAR: 7.38, MNIST: 7.84, LINNAEUS: 8.31},
    "SAPAG": {CIFAR: 6.07, MNIST: 3.86, LINNAEUS: 6.74},
    "BN regulariser": {CIFAR: 18.94, MNIST: 13.38, LINNAEUS: 8.09},
    "GC regulariser": {CIFAR: 12.62, MNIST: 0.24, LINNAEUS: 19.29},
}
TABLE_3 = {  # by batch size K
    10: {CIFAR: 30.83, MNIST: 32.60, LINNAEUS: 28.00},
    20: {CIFAR: 35.70, MNIST: 39.00, LINNAEUS: 30.53},
    40: {CIFAR: 31.83, MNIST: 43.15, LINNAEUS: 33.22},
    80: {CIFAR: 36.87, MNIST: 47.05, LINNAEUS: 30.43},
    100: {CIFAR: 38.94, MNIST: 47.50, LINNAEUS: 29.18},
}
TABLE_6 = {  # by number of workers M
    4: {CIFAR: 31.83, MNIST: 43.15, LINNAEUS: 33.22},
    16: {CIFAR: 28.39, MNIST: 39.28, LINNAEUS: 39.85},
}
TABLE_7 = {  # (learning rate, PSNR) while the model trains
    CIFAR: ((1e-4, 31.24), (5e-4, 27.62), (1e-3, 25.22)),
    MNIST: ((1e-4, 31.82), (5e-4, 28.42), (1e-3, 23.60)),
    LINNAEUS: ((1e-6, 30.74), (5e-5, 21.45), (1e-4, 20.68)),
}
TABLE_8 = {  # MNIST, by iteration: (PSNR, training loss, test accuracy); Adam at 1e-6, 800 pictures, 100 tested
    0: (5.07, 2.36, 0.11),
    2000: (11.68, 2.31, 0.27),
    6000: (18.07, 1.99, 0.54),
    10000: (18.12, 1.82, 0.64),
    15000: (16.86, 1.63, 0.65),
    20000: (20.72, 1.68, 0.68),
}
FACES = 42.0  # "above 42", section 4.5
FIG_6 = {"true gradients": {"psnr": 28.68}, "fake gradients, as printed": {"psnr": 7.67}}  # CIFAR-10, section 4.4
TABLE_4 = {  # CAFE as printed, without one term of eq. 9 or its threshold
    "CAFE": {CIFAR: 31.83, MNIST: 43.15, LINNAEUS: 33.22},
    "alpha = 0": {CIFAR: 33.93, MNIST: 31.93, LINNAEUS: 28.62},
    "xi = 0": {CIFAR: 25.57, MNIST: 34.51, LINNAEUS: 25.29},
    "beta = 0": {CIFAR: 18.25, MNIST: 31.98, LINNAEUS: 23.22},
    "gamma = 0": {CIFAR: 12.51, MNIST: 6.34, LINNAEUS: 12.37},
}
TABLE_5 = {  # iterations until a true PSNR is reached, at most 8,000 a step (Linnaeus: 20,000)
    "single loop": {CIFAR: 7300.0, MNIST: 6600.0, LINNAEUS: 12400.0},
    "nested loops, step I": {CIFAR: 8000.0, MNIST: 8000.0, LINNAEUS: 12428.0},
    "nested loops, step II": {CIFAR: 2404.0, MNIST: 8000.0, LINNAEUS: 20000.0},
    "nested loops, step III": {CIFAR: 1635.0, MNIST: 2468.0, LINNAEUS: 20000.0},
}
TABLE_5_PSNR = {CIFAR: 27.0, MNIST: 38.0, LINNAEUS: 30.0}  # at which both are stopped
