"""References for RMTBSVM. How to run: see digits300.py.

    min_f  r/2 |f|^2 + mu/2 f^T L f + sum_similar min(|f(x_i)|, epsilon) + c sum_dissimilar [1 - f(x_j)]_+

In the values f on the training samples, |f|^2 = f^T K^-1 f. So the quadratic form is r (K^-1 + mu/r L), which
is r times the inverse of the deformed kernel. L = I - D^-1/2 G D^-1/2 is the normalised Laplacian of the
neighbour graph: G_ij is positive if i is among the nearest of j, or j among the nearest of i.

The features are integers, so some samples have two neighbours at the same distance, of which only one is among
the nearest. LEFT_OUT removes such samples: the graph does not depend on how a program breaks ties.
"""

import itertools
import math

import numpy as np

import digits300
import weighted_l1

LEFT_OUT = [17, 26, 46, 142, 196, 231, 238, 245, 246, 298]
DIGITS = digits300.Digits(LEFT_OUT)
SETTINGS = [
    {"c": 2.0, "epsilon": 0.3, "r": 1.0, "mu": 0.1, "graph": {"weights": "mean-squared-distance"}},
    {"c": 2.0, "epsilon": 0.2, "r": 2.0, "mu": 1.0, "graph": {"weights": "mean-distance", "neighbours": 5}},
]


def laplacian(graph):
    d2, n = DIGITS.squared_distances, DIGITS.n
    neighbours = graph.get("neighbours", math.floor(math.log2(n)))
    others = d2 + np.diag(np.full(n, np.inf))
    ascending = np.sort(others, axis=1)
    farthest = ascending[:, neighbours - 1]
    assert (farthest < ascending[:, neighbours]).all(), "a tie decides which samples are the nearest"
    near = others <= farthest[:, None]
    scale = {"mean-squared-distance": d2.mean(), "mean-distance": 2 * np.sqrt(d2).mean() ** 2}
    g = np.where(near | near.T, np.exp(-d2 / scale[graph["weights"]]), 0.0)
    root = np.sqrt(g.sum(axis=1))
    return np.eye(n) - g / root[:, None] / root[None, :]


def reference(parameters):
    r, epsilon = parameters["r"], parameters["epsilon"]
    k_inverse = np.linalg.inv(DIGITS.kernel(parameters["bias"]))
    deformed = np.linalg.inv(k_inverse + parameters["mu"] / r * laplacian(parameters["graph"]))

    def slope(size):
        # Another solver must give the same weights.
        assert np.abs(size - epsilon).min() > 1e-5, "a value is too close to the cap"
        return np.where(size < epsilon, 1.0, 0.0)

    return weighted_l1.case(
        DIGITS,
        parameters,
        a=r * np.linalg.inv(deformed),
        a_inverse=deformed / r,
        loss=lambda size: np.minimum(size, epsilon),
        slope=slope,
    )


digits300.write(
    __file__,
    "RMTBSVM on the digits of k_npsvcpp_digits300.json: every weighted L1 problem solved by Clarabel, the "
    "deformed kernel computed by NumPy. largest_relative_gap: the largest duality gap of a problem over its "
    "objective. left_out: training samples that take no part, counted from 0.",
    [
        reference({**setting, "max_iter": 10, "scheme": scheme, "bias": bias})
        for setting, scheme, bias in itertools.product(SETTINGS, ["ovr", "rvo"], [False, True])
    ],
    ["clarabel", "numpy", "scipy"],
    left_out=LEFT_OUT,
)
