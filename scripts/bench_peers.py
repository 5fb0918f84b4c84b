"""The Python part of scripts/bench-peers: measures scikit-learn and Clarabel, and prints the table."""

import datetime
import json
import os
import platform
import sys
import time

import clarabel
import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

FOLDER = sys.argv[1]
OURS = {}
PEAK = {}
OPTIMUM = {}
with open(os.path.join(FOLDER, "ours.jsonl")) as lines:
    for line in lines:
        if line.startswith("{"):
            entry = json.loads(line)
            OURS[entry["case"]] = entry["seconds"]
            PEAK[entry["case"]] = entry["peak_mb"]
            OPTIMUM[entry["case"]] = entry["optimum"]


def load(name):
    read = lambda part: np.load(os.path.join(FOLDER, f"{name}-{part}.npy"))
    return read("x"), read("y").ravel().astype(int), read("x-test")


def best_of(times, work):
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def width(x):
    """The mean squared distance over all pairs."""
    return 2.0 * ((x**2).sum(1).mean() - (x.mean(0) ** 2).sum())


def svc():
    x, y, x_test = load("usps")
    gamma = 1.0 / width(x)
    work = lambda: SVC(C=10, gamma=gamma, tol=1e-3, cache_size=1000).fit(x, y).predict(x_test)
    return best_of(3, work)


def rbf():
    x = np.random.default_rng(1).normal(size=(8000, 256))
    gamma = 1.0 / width(x)
    return best_of(3, lambda: rbf_kernel(x, gamma=gamma))


def clarabel_twsvm():
    """Solves `min 1/2 x'Mx - 1'x, 0 <= x <= c/r` for every class. M is K with the class eliminated."""
    x, y, _ = load("usps")
    k = rbf_kernel(x, gamma=1.0 / width(x)) + 1e-6 * np.eye(len(x))
    r, c = 0.1, 1.0
    solvers = [solver_of(k, y == label, r, c) for label in np.unique(y)]
    begun = time.perf_counter()
    solutions = [solver.solve() for solver in solvers]
    seconds = time.perf_counter() - begun
    for solution in solutions:
        assert str(solution.status) in ("Solved", "SolverStatus.Solved"), solution.status
    theirs = -r * sum(solution.obj_val for solution in solutions)
    assert abs(theirs - OPTIMUM["twsvm-ovr-usps"]) < 1e-3 * theirs, (theirs, OPTIMUM)
    return seconds


def solver_of(k, near, r, c):
    p = k[np.ix_(near, near)] + r * np.eye(near.sum())
    w = np.linalg.solve(p, k[np.ix_(near, ~near)])
    m = k[np.ix_(~near, ~near)] - k[np.ix_(~near, near)] @ w
    n = len(m)
    a = sp.vstack([sp.eye(n), -sp.eye(n)]).tocsc()
    b = np.concatenate([np.full(n, c / r), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = 1e-4
    settings.tol_gap_abs = 1e-4
    settings.tol_feas = 1e-4
    quadratic = sp.triu(sp.csc_matrix(m)).tocsc()
    return clarabel.DefaultSolver(
        quadratic, -np.ones(n), a, b, [clarabel.NonnegativeConeT(2 * n)], settings
    )


def row(case, ours, other, name, bar):
    ratio = ours / other
    print(f"| {case} | {ours:.3f} s | {name}: {other:.3f} s | {ratio:.3f} | {bar} |")


product = OURS["product-usps"]
print("# Benchmarks: comparison with other programs")
print()
print(f"Made by `scripts/bench-peers` on {datetime.date.today()}: {platform.machine()},")
print(f"{os.cpu_count()} cores, 2 threads, Linux {platform.release().split('-')[0]}. Best of 3; Clarabel and the case of 50,000 samples")
print("ran once. Our times start from the samples: they include the kernel matrix and the graph. Clarabel and the libsvm in")
print("scikit-learn always use one thread; in the second row, this program does too. A ratio below 1 means that this program")
print("is faster. `*` marks a fixed limit instead of another program.")
print()
print("| case | this program | compared with | ratio | goal |")
print("|---|---:|---:|---:|---|")
theirs = svc()
row("SVM, USPS split, C=10, fit and predict", OURS["svm-usps"], theirs, "scikit-learn SVC", "at most 1")
row("the same, one thread", OURS["svm-one-usps"], theirs, "scikit-learn SVC", "-")
row("K-NPSVC++ rvo, USPS split, d=20", OURS["k-npsvcpp-rvo-usps"], product, "one n x n product", "at most 3")
row("K-NPSVC++ ovr, USPS split, d=20", OURS["k-npsvcpp-ovr-usps"], product, "one n x n product", "at most 8")
row("K-NPSVC++ rvo, BinAlpha split, d=72", OURS["k-npsvcpp-rvo-binalpha"], 0.25, "limit *", "at most 1")
row("TWSVM ovr, USPS split, all classes, gap 1e-4", OURS["twsvm-ovr-usps"], clarabel_twsvm(), "Clarabel", "at most 0.05")
row("Gaussian kernel matrix, n=8000, m=256", OURS["kernel-8000"], rbf(), "scikit-learn rbf_kernel", "at most 0.56")
row("K-NPSVC++, 100 points on a BinAlpha split, fitted and scored together", OURS["sweep-binalpha"], OURS["separate-binalpha"],
    "100 separate fits", "at most 0.25")
row("the same", OURS["sweep-binalpha"], OURS["separate-parallel-binalpha"], "100 separate fits, two in parallel", "-")
row("K-NPSVC++ rvo, 50,000 x 512, 10 classes, rank 1500", OURS["large"], 300, "limit *", "at most 1")
print()
print(f"The last case used {PEAK['large'] / 1024:.2f} GiB at most; the goal is 6.")
print()
print("## Growth")
print()
print("K-NPSVC++ rvo on the first n samples of Pendigits, with the kernel matrix (full) or a factor of rank 500 (pivoted). Each case")
print("ran once in its own process. The exponent is the slope of a straight line through the logarithms.")
print()
SIZES = [1000, 2000, 4000, 8000]
print("| n | full: time | memory | pivoted: time | memory |")
print("|---:|---:|---:|---:|---:|")
for n in SIZES:
    full, pivoted = f"growth-full-{n}", f"growth-pivoted-{n}"
    print(f"| {n} | {OURS[full]:.2f} s | {PEAK[full]:.0f} MiB | {OURS[pivoted]:.2f} s | {PEAK[pivoted]:.0f} MiB |")
exponents = []
for table in (OURS, PEAK):
    for kind in ("full", "pivoted"):
        values = [table[f"growth-{kind}-{n}"] for n in SIZES]
        exponents.append(np.polyfit(np.log(SIZES), np.log(values), 1)[0])
time_full, time_pivoted, memory_full, memory_pivoted = exponents
print(f"| exponent | {time_full:.2f} | {memory_full:.2f} | {time_pivoted:.2f} | {memory_pivoted:.2f} |")
