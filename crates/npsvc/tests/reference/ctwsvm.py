"""References for CTWSVM. How to run: see digits300.py.

    min_f  r/2 |f|^2 + sum_similar (1 - exp(-gamma |f(x_i)|)) + c sum_dissimilar [1 - f(x_j)]_+

In the values f on the training samples, |f|^2 = f^T K^-1 f.
"""

import itertools

import numpy as np

import digits300
import weighted_l1

DIGITS = digits300.Digits()
SETTINGS = [
    {"c": 0.5, "gamma": 0.2, "r": 1.0, "max_iter": 10},
    {"c": 5.0, "gamma": 1.0, "r": 2.0, "max_iter": 4},
]


def reference(parameters):
    k, r, gamma = DIGITS.kernel(parameters["bias"]), parameters["r"], parameters["gamma"]
    return weighted_l1.case(
        DIGITS,
        parameters,
        a=r * np.linalg.inv(k),
        a_inverse=k / r,
        loss=lambda size: 1 - np.exp(-gamma * size),
        slope=lambda size: gamma * np.exp(-gamma * size),
    )


digits300.write(
    __file__,
    "CTWSVM on the digits of k_npsvcpp_digits300.json: every weighted L1 problem solved by Clarabel. "
    "largest_relative_gap: the largest duality gap of a problem over its objective.",
    [
        reference({**setting, "scheme": scheme, "bias": bias})
        for setting, scheme, bias in itertools.product(SETTINGS, ["ovr", "rvo"], [False, True])
    ],
    ["clarabel", "numpy", "scipy"],
)
