"""A similarity loss that is concave in |f|, as a sequence of weighted L1 problems, each solved by Clarabel.

With the quadratic form A of the values f on the training samples (r K^-1, plus a manifold term), a step solves

    min_f  1/2 f^T A f + sum_{i similar} w_i |f_i| + c sum_{j dissimilar} [1 - f_j]_+,

where w_i is the slope of the loss at the |f_i| of the last step, and at zero in the first step. A class keeps
the values with the lowest true objective. It stops after `max_iter` steps, or when a step does not lower its
true objective by more than 1e-6 of it.
"""

import clarabel
import numpy as np
import scipy.sparse as sp

import digits300

SMALLEST_FALL = 1e-6


def settings():
    s = clarabel.DefaultSettings()
    s.verbose = False
    s.tol_gap_abs = s.tol_gap_rel = s.tol_feas = 1e-13
    return s


def solve(a, a_inverse, similar, weights, c):
    """The minimiser, and its duality gap relative to its objective, computed here from the values alone."""
    n = len(similar)
    near = np.flatnonzero(similar & (weights > 0))
    far = np.flatnonzero(~similar)
    # Variables: f, a bound on |f_i| per weighted similar sample, a slack per dissimilar sample.
    pick = sp.eye_array(n, format="csr")
    m, q = len(near), len(far)
    quadratic = sp.block_diag([sp.csc_array(np.triu(a)), sp.csc_array((m + q, m + q))], format="csc")
    linear = np.concatenate([np.zeros(n), weights[near], np.full(q, c)])
    constraints = sp.block_array(
        [
            [pick[near], -sp.eye_array(m), None],
            [-pick[near], -sp.eye_array(m), None],
            [-pick[far], None, -sp.eye_array(q)],
            [None, None, -sp.eye_array(q)],
        ],
        format="csc",
    )
    right = np.concatenate([np.zeros(2 * m), np.full(q, -1.0), np.zeros(q)])
    cones = [clarabel.NonnegativeConeT(2 * m + 2 * q)]
    solver = clarabel.DefaultSolver(quadratic, linear, constraints, right, cones, settings())
    f = np.array(solver.solve().x)[:n]
    # Weak duality: any e with e_j in [0, c] and |e_i| <= w_i bounds the optimum. A f is the optimal e.
    e = a @ f
    low, high = np.where(similar, -weights, 0.0), np.where(similar, weights, c)
    e = np.clip(e, low, high)
    primal = f @ a @ f / 2 + weights[similar] @ np.abs(f[similar]) + c * np.maximum(1 - f[far], 0).sum()
    dual = e[far].sum() - e @ a_inverse @ e / 2
    return f, (primal - dual) / primal


def descend(a, a_inverse, similar, loss, slope, c, max_iter):
    """The values that a class ends with, its lowest true objective after each step, whether the last step met
    the stopping rule, and the largest gap."""

    def objective(f):
        hinge = np.maximum(1 - f[~similar], 0).sum()
        return f @ a @ f / 2 + loss(np.abs(f[similar])).sum() + c * hinge

    f, gap = solve(a, a_inverse, similar, slope(np.zeros(len(similar))), c)
    trace, has_settled, gaps = [objective(f)], False, [gap]
    while len(trace) < max_iter and not has_settled:
        next_f, gap = solve(a, a_inverse, similar, slope(np.abs(f)), c)
        value, best = objective(next_f), trace[-1]
        fall = (best - value) / best
        # Another solver must come to the same decision.
        assert not 0.95 < fall / SMALLEST_FALL < 1.05, f"{fall} is too close to the stopping rule"
        if value < best:
            f = next_f
        trace.append(min(value, best))
        gaps.append(gap)
        has_settled = fall <= SMALLEST_FALL
    return f, trace, bool(has_settled), max(gaps)


def case(digits, parameters, a, a_inverse, loss, slope):
    """The reference of all classes for these parameters of a method."""
    scheme, bias, c = parameters["scheme"], parameters["bias"], parameters["c"]
    found = [
        descend(a, a_inverse, digits.similar(scheme, l), loss, slope, c, parameters["max_iter"])
        for l in range(digits300.CLASSES)
    ]
    values, traces, settled, gaps = zip(*found)
    # A class that has stopped keeps its last objective.
    steps = max(len(trace) for trace in traces)
    by_step = [[trace[min(t, len(trace) - 1)] for trace in traces] for t in range(steps)]
    return {
        "parameters": parameters,
        "steps_by_class": [len(trace) for trace in traces],
        "has_settled": all(settled),
        "objective_by_step_and_class": [digits300.rounded(row) for row in by_step],
        "largest_relative_gap": float(f"{max(gaps):.1e}"),
        **digits.answer(scheme, bias, np.stack(values, axis=1)),
    }
