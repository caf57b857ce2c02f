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
FACES = 42.0  # "above 42", section 4.5
FIG_6 = {"true gradients": {"psnr": 28.68}, "fake gradients, as printed": {"psnr": 7.67}}  # CIFAR-10, section 4.4
