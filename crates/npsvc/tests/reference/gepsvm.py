"""References for GEPSVM. How to run: see digits300.py.

    min_f  (sum_similar f(x_i)^2 + delta |f|^2) / sum_dissimilar f(x_j)^2

With K = C C^T and f = C w, |f| = |w|. So the inverse of the optimal ratio is the largest eigenvalue of

    C_q^T C_q w = value (C_p^T C_p + delta I) w,

where p are the similar samples and q the dissimilar ones. f has no scale and no sign: here |f| = 1, and the
decision value of largest size is positive.
"""

import itertools

import numpy as np
import scipy.linalg

import digits300

DIGITS = digits300.Digits()
SETTINGS = [{"delta": 0.1}, {"delta": 2.0}]


def hyperplane(c, similar, delta):
    """The values, the ratio, and the second eigenvalue over the first."""
    n = len(c)
    p, q = c[similar], c[~similar]
    eigenvalues, w = scipy.linalg.eigh(
        q.T @ q, p.T @ p + delta * np.eye(n), subset_by_index=[n - 2, n - 1]
    )
    f = c @ w[:, 1]
    ratio = ((f[similar] ** 2).sum() + delta * w[:, 1] @ w[:, 1]) / (f[~similar] ** 2).sum()
    return f / np.linalg.norm(w[:, 1]), ratio, eigenvalues[0] / eigenvalues[1]


def reference(parameters):
    scheme, bias = parameters["scheme"], parameters["bias"]
    c = np.linalg.cholesky(DIGITS.kernel(bias))
    found = [
        hyperplane(c, DIGITS.similar(scheme, l), parameters["delta"]) for l in range(digits300.CLASSES)
    ]
    values, ratios, second = zip(*found)
    answer = DIGITS.answer(scheme, bias, np.stack(values, axis=1))
    decision = np.array(answer["decision"])
    largest = np.take_along_axis(decision, np.abs(decision).argmax(axis=0)[None, :], axis=0)
    answer["decision"] = (decision * np.sign(largest)).tolist()
    return {
        "parameters": parameters,
        "objective_by_class": digits300.rounded(ratios),
        # Close to 1, an eigenvector is sensitive to rounding.
        "second_over_first_eigenvalue": [float(f"{ratio:.3g}") for ratio in second],
        **answer,
    }


digits300.write(
    __file__,
    "GEPSVM on the digits of k_npsvcpp_digits300.json by scipy.linalg.eigh. The functions have norm 1.",
    [
        reference({**setting, "scheme": scheme, "bias": bias})
        for setting, scheme, bias in itertools.product(SETTINGS, ["ovr", "rvo"], [False, True])
    ],
    ["numpy", "scipy"],
)
