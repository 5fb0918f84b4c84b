"""References for NHSVM. How to run: see digits300.py.

    min_{f,h}  r/2 (|f|^2 + |h|^2) + 1/2 sum_p f(x_i)^2 + 1/2 sum_q h(x_j)^2
               + c sum_p [1 - (h - f)(x_i)]_+ + c sum_q [1 - (f - h)(x_j)]_+

p is class l and q all other classes, for both schemes. ovr predicts with f, rvo with h. In the values on the
training samples, |f|^2 = f^T K^-1 f.
"""

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp

import digits300

DIGITS = digits300.Digits()
SETTINGS = [{"c": 1.0, "r": 0.1}, {"c": 0.2, "r": 2.0}]


def solve(k, own, c, r):
    """f and h, the objective, and the duality gap over the objective, computed here from f and h alone."""
    n = len(own)
    norm = r * np.linalg.inv(k)
    a_f, a_h = norm + np.diag(own.astype(float)), norm + np.diag((~own).astype(float))
    sign = np.where(own, -1.0, 1.0)
    # Variables: f, h, and a slack per sample with slack >= 1 - sign (f - h) and slack >= 0.
    quadratic = sp.block_diag(
        [sp.csc_array(np.triu(a_f)), sp.csc_array(np.triu(a_h)), sp.csc_array((n, n))], format="csc"
    )
    linear = np.concatenate([np.zeros(2 * n), np.full(n, c)])
    one = sp.eye_array(n)
    constraints = sp.block_array(
        [[-sp.diags_array(sign), sp.diags_array(sign), -one], [None, None, -one]], format="csc"
    )
    right = np.concatenate([np.full(n, -1.0), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    cones = [clarabel.NonnegativeConeT(2 * n)]
    solution = clarabel.DefaultSolver(quadratic, linear, constraints, right, cones, settings).solve()
    f, h = np.array(solution.x)[:n], np.array(solution.x)[n : 2 * n]
    hinge = np.maximum(1 - sign * (f - h), 0).sum()
    primal = f @ a_f @ f / 2 + h @ a_h @ h / 2 + c * hinge
    # Weak duality: any e in [0, c] bounds the optimum. sign A_f f is the optimal e.
    e = np.clip(sign * (a_f @ f), 0, c)
    signed = sign * e
    dual = e.sum() - signed @ (np.linalg.solve(a_f, signed) + np.linalg.solve(a_h, signed)) / 2
    return f, h, primal, (primal - dual) / primal


def references(setting, bias):
    """The references of both schemes."""
    k = DIGITS.kernel(bias)
    found = [
        solve(k, DIGITS.y == l, setting["c"], setting["r"]) for l in range(digits300.CLASSES)
    ]
    f, h, objectives, gaps = zip(*found)
    return [
        {
            "parameters": {**setting, "scheme": scheme, "bias": bias},
            "objective_by_class": digits300.rounded(objectives),
            "largest_relative_gap": float(f"{max(gaps):.1e}"),
            **DIGITS.answer(scheme, bias, np.stack(values, axis=1)),
        }
        for scheme, values in [("ovr", f), ("rvo", h)]
    ]


digits300.write(
    __file__,
    "NHSVM on the digits of k_npsvcpp_digits300.json by Clarabel. largest_relative_gap: the largest duality gap "
    "of a class over its objective.",
    [
        case
        for setting, bias in itertools.product(SETTINGS, [False, True])
        for case in references(setting, bias)
    ],
    ["clarabel", "numpy", "scipy"],
)
