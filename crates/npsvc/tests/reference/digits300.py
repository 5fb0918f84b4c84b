"""The digits problem of the reference files, and how a reference file is written.

300 training and 200 test samples of the UCI optical digits, from k_npsvcpp_digits300.json in this folder.
The kernel is exp(-d^2 / t), with t the mean squared distance of the training samples (all n^2 pairs), plus
1e-6 on the diagonal of the training matrix. A bias adds a constant feature to phi(x), so it adds 1 to every
kernel value. Hyperplane l is close to its `similar` samples and far from the others.

To make the reference files again, from the root of the repository:

    python3 -m venv /tmp/references
    /tmp/references/bin/pip install -r crates/npsvc/tests/reference/requirements.txt
    for method in rmtbsvm ctwsvm nhsvm gepsvm; do
        /tmp/references/bin/python -B crates/npsvc/tests/reference/$method.py
    done

This takes about a minute.
"""

import importlib.metadata
import json
import platform
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
CLASSES = 10
JITTER = 1e-6
# Decision values are recorded for the first test samples, predictions for all of them.
DECISIONS = 12


class Digits:
    """The training samples, without those that a method leaves out, and all test samples."""

    def __init__(self, left_out=()):
        file = json.loads((FOLDER / "k_npsvcpp_digits300.json").read_text())
        self.x = np.delete(np.array(file["x_train"], dtype=float), left_out, axis=0)
        # Classes 0 to 9; the file has 1 to 10.
        self.y = np.delete(np.array(file["y_train"]), left_out) - 1
        self.x_test = np.array(file["x_test"], dtype=float)
        self.n = len(self.x)
        self.squared_distances = squared_distances(self.x, self.x)
        self.width = self.squared_distances.mean()

    def kernel(self, bias):
        """The training matrix."""
        k = np.exp(-self.squared_distances / self.width) + JITTER * np.eye(self.n)
        return k + 1 if bias else k

    def cross(self, bias):
        """Test samples in rows, training samples in columns."""
        k = np.exp(-squared_distances(self.x_test, self.x) / self.width)
        return k + 1 if bias else k

    def similar(self, scheme, l):
        """The samples that hyperplane l is close to: its class (ovr), or all other classes (rvo)."""
        return self.y == l if scheme == "ovr" else self.y != l

    def answer(self, scheme, bias, values):
        """Norms, decision values and predictions of functions with these values on the training samples.

        `values` has a column per class. f = sum_i b_i k(x_i, .) with b = K^-1 values, |f|^2 = values^T b.
        """
        coefficients = np.linalg.solve(self.kernel(bias), values)
        norms = np.sqrt((values * coefficients).sum(axis=0))
        decision = self.cross(bias) @ coefficients
        distance = np.abs(decision) / norms
        ranked = np.argsort(distance if scheme == "ovr" else -distance, axis=1)
        best, second = np.take_along_axis(distance, ranked[:, :2], axis=1).T
        # Another solver must predict the same classes.
        assert (np.abs(best - second) > 1e-6).all(), "two classes are almost equally likely"
        return {
            "norms": rounded(norms),
            "decision": [rounded(row) for row in decision[:DECISIONS]],
            # 1 to 10 again.
            "test_prediction": (ranked[:, 0] + 1).tolist(),
        }


def squared_distances(a, b):
    """Exact: the features are small integers."""
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)


def rounded(numbers):
    """Twelve digits: more than the solvers reach."""
    return [float(f"{number:.12g}") for number in numbers]


def write(script, about, cases, packages, **more):
    """Writes `<method>_digits300.json`, a case per line."""
    made_by = {
        "script": Path(script).name,
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
    }
    head = {"about": about, "made_by": made_by, **more}
    lines = ",\n".join(json.dumps(case) for case in cases)
    text = json.dumps(head)[:-1] + ',\n"cases": [\n' + lines + "\n]}\n"
    path = FOLDER / f"{Path(script).stem}_digits300.json"
    path.write_text(text)
    print(f"{path.name}: {len(cases)} cases, {len(text)} bytes")
