"""Reference for the values of `decision` of the one-versus-one SVM. How to run:

    python3 -m venv venv && venv/bin/pip install scikit-learn==1.7.2 numpy==2.4.6
    venv/bin/python votes.py > votes.json

scikit-learn's SVC predicts with LIBSVM's votes, where the lowest class wins ties. Its `decision_function` of shape
`ovr` adds confidences to the votes, so a tie may rank another class first. The classes overlap strongly, so that
there are such ties. The test feeds the values of the pairs to our rule.
"""

import json
import platform

import numpy as np
import sklearn
from sklearn.svm import SVC


def case(classes, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(8 * classes, 2))
    y = np.arange(8 * classes) % classes
    x_test = rng.normal(size=(12, 2))
    svc = SVC(C=10.0, gamma=1.0, decision_function_shape="ovo").fit(x, y)
    pairs = svc.decision_function(x_test)
    svc.decision_function_shape = "ovr"
    return {
        "classes": classes,
        "pairs": pairs.tolist(),
        "decision": svc.decision_function(x_test).tolist(),
        "prediction": svc.predict(x_test).tolist(),
    }


cases = [case(classes, seed) for classes in (3, 4, 6) for seed in (1, 2)]
for one in cases:
    decision = np.array(one["decision"])
    one["ranked_otherwise"] = int((decision.argmax(1) != np.array(one["prediction"])).sum())
assert any(one["ranked_otherwise"] for one in cases)
made_by = {
    "script": "votes.py",
    "python": platform.python_version(),
    "numpy": np.__version__,
    "scikit-learn": sklearn.__version__,
}
about = "SVC of scikit-learn: the values of all pairs, decision_function of shape ovr, and predict."
print(json.dumps({"about": about, "made_by": made_by, "cases": cases}))
