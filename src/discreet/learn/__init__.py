"""Learning: models that are fitted to people's rows and may be shown to anybody.

An estimator here has scikit-learn's conventions and wraps a mechanism over a relation, which is a value with a promise.
What is public about the rows, bounds above all, is said in its constructor.

    >>> from discreet.learn import LinearRegression
    >>> model = LinearRegression(epsilon=100, bounds=(0, 10), label_bounds=(0, 40))
    >>> _ = model.fit([[x / 100] for x in range(1000)], [x / 100 * 3 for x in range(1000)])
    >>> round(model.coef_[0]), str(model.privacy_.loss.epsilon)
    (3, '100')

In a home a fit is bought like an answer: `discreet fit`, `db.run("linear-regression", …)` or HTTP; the model is kept in
a folder with a certificate, and predicts without the home. The estimators open when they are named: they import
scikit-learn, and mechanisms and models do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from discreet.learn.additive_learner import AdditiveClassification as AdditiveClassification
from discreet.learn.additive_learner import AdditiveRegression as AdditiveRegression
from discreet.learn.additive_model import EffectsClassifier as EffectsClassifier
from discreet.learn.additive_model import EffectsRegressor as EffectsRegressor
from discreet.learn.bayes_model import BayesClassifier as BayesClassifier
from discreet.learn.clusters_model import Clusters as Clusters
from discreet.learn.convex_risk import ConvexRisk as ConvexRisk
from discreet.learn.convex_risk import HingeRisk as HingeRisk
from discreet.learn.convex_risk import HuberRisk as HuberRisk
from discreet.learn.convex_risk import LogisticRisk as LogisticRisk
from discreet.learn.exponential_components import ExponentialComponents as ExponentialComponents
from discreet.learn.fitted_model import LinearModel as LinearModel
from discreet.learn.fitted_model import Model as Model
from discreet.learn.forest_learner import RandomForest as RandomForest
from discreet.learn.forest_learner import RegressionForest as RegressionForest
from discreet.learn.forest_model import ForestClassifier as ForestClassifier
from discreet.learn.forest_model import ForestRegressor as ForestRegressor
from discreet.learn.functional import FunctionalLogistic as FunctionalLogistic
from discreet.learn.kernel_risk import KernelRisk as KernelRisk
from discreet.learn.kmeans import KMeansClusters as KMeansClusters
from discreet.learn.least_squares import LeastSquares as LeastSquares
from discreet.learn.linear_classifier_model import KernelClassifier as KernelClassifier
from discreet.learn.linear_classifier_model import LinearClassifier as LinearClassifier
from discreet.learn.low_rank import MatrixFactors as MatrixFactors
from discreet.learn.matrix_completion_model import LowRankMatrix as LowRankMatrix
from discreet.learn.mixture import GaussianComponents as GaussianComponents
from discreet.learn.mixture_model import Mixture as Mixture
from discreet.learn.model_release import ModelRelease as ModelRelease
from discreet.learn.model_score import ModelScore as ModelScore
from discreet.learn.moments import NaiveBayes as NaiveBayes
from discreet.learn.moments import Standardize as Standardize
from discreet.learn.principal_components import PrincipalComponents as PrincipalComponents
from discreet.learn.private_search import PrivateSearch as PrivateSearch
from discreet.learn.projection_model import Projection as Projection
from discreet.learn.rule_learner import RuleLearner as RuleLearner
from discreet.learn.rule_model import Rule as Rule
from discreet.learn.scaling_model import Scaling as Scaling
from discreet.learn.score_report import ClassifierScore as ClassifierScore
from discreet.learn.score_report import NumberScore as NumberScore
from discreet.learn.searched_model import SearchedModel as SearchedModel
from discreet.learn.sparse_regression import SparseLeastSquares as SparseLeastSquares
from discreet.learn.tree_learner import ClassificationTree as ClassificationTree
from discreet.learn.tree_learner import RegressionTree as RegressionTree
from discreet.learn.tree_model import TreeClassifier as TreeClassifier
from discreet.learn.tree_model import TreeRegressor as TreeRegressor

_ESTIMATORS = {
    "AdditiveClassifier": "additive",
    "AdditiveRegressor": "additive",
    "LowRank": "decomposition",
    "PCA": "decomposition",
    "PrivateEstimator": "estimator",
    "ConvexERM": "regressors",
    "DecisionTreeClassifier": "trees",
    "DecisionTreeRegressor": "trees",
    "ExponentialLearner": "exponential_learner",
    "GaussianMixture": "clustering",
    "GaussianNB": "naive_bayes",
    "HuberRegressor": "regressors",
    "KMeans": "clustering",
    "KernelSVC": "classifiers",
    "LinearRegression": "linear_regression",
    "LinearSVC": "classifiers",
    "LogisticRegression": "classifiers",
    "PrivateClassifier": "classifiers",
    "PrivateSearchCV": "search_cv",
    "PrivateTransformer": "estimator",
    "RandomForestClassifier": "forests",
    "RandomForestRegressor": "forests",
    "Ridge": "linear_regression",
    "SparseRegression": "linear_regression",
    "StandardScaler": "naive_bayes",
    "evaluate": "evaluation",
}

if TYPE_CHECKING:
    from discreet.learn.additive import AdditiveClassifier as AdditiveClassifier
    from discreet.learn.additive import AdditiveRegressor as AdditiveRegressor
    from discreet.learn.classifiers import KernelSVC as KernelSVC
    from discreet.learn.classifiers import LinearSVC as LinearSVC
    from discreet.learn.classifiers import LogisticRegression as LogisticRegression
    from discreet.learn.classifiers import PrivateClassifier as PrivateClassifier
    from discreet.learn.clustering import GaussianMixture as GaussianMixture
    from discreet.learn.clustering import KMeans as KMeans
    from discreet.learn.decomposition import PCA as PCA
    from discreet.learn.decomposition import LowRank as LowRank
    from discreet.learn.estimator import PrivateEstimator as PrivateEstimator
    from discreet.learn.estimator import PrivateTransformer as PrivateTransformer
    from discreet.learn.evaluation import evaluate as evaluate
    from discreet.learn.exponential_learner import ExponentialLearner as ExponentialLearner
    from discreet.learn.forests import RandomForestClassifier as RandomForestClassifier
    from discreet.learn.forests import RandomForestRegressor as RandomForestRegressor
    from discreet.learn.linear_regression import LinearRegression as LinearRegression
    from discreet.learn.linear_regression import Ridge as Ridge
    from discreet.learn.linear_regression import SparseRegression as SparseRegression
    from discreet.learn.naive_bayes import GaussianNB as GaussianNB
    from discreet.learn.naive_bayes import StandardScaler as StandardScaler
    from discreet.learn.regressors import ConvexERM as ConvexERM
    from discreet.learn.regressors import HuberRegressor as HuberRegressor
    from discreet.learn.search_cv import PrivateSearchCV as PrivateSearchCV
    from discreet.learn.trees import DecisionTreeClassifier as DecisionTreeClassifier
    from discreet.learn.trees import DecisionTreeRegressor as DecisionTreeRegressor
else:  # a type checker should not believe in every name

    def __getattr__(name: str) -> type:
        """An estimator, imported when it is first named."""
        if name not in _ESTIMATORS:
            raise AttributeError(f"module 'discreet.learn' has no attribute {name!r}")
        return getattr(import_module(f"discreet.learn.{_ESTIMATORS[name]}"), name)


def __dir__() -> list[str]:
    """What is here, whether it is open or not."""
    return sorted({*globals(), *_ESTIMATORS})
