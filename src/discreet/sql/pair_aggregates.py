"""Aggregates of pairs, CORR, COVAR_* and REGR_*, in other words: those of COUNT, AVG and VAR_POP of whole pairs.

What is measured for them are a number of pairs, means, variances and the mean of a product, each once in a question,
however many of these words are made of it. All else is arithmetic on what was bought.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

CALLED = "called"  # in what is put there: what its column is called, as if nothing had been put


@dataclass(frozen=True)
class Pairs:
    """The two arguments of an aggregate, and which rows it takes: of these both are there, and pass its FILTER."""

    x: exp.Expr
    y: exp.Expr
    where: exp.Expr

    @classmethod
    def of(cls, x: exp.Expr, y: exp.Expr, condition: exp.Expr | None) -> Pairs:
        """Of what is in the parentheses, and perhaps a condition."""
        tests = [*(exp.Paren(this=each.copy()).is_(exp.Null()).not_() for each in (x, y))]
        return cls(x, y, exp.and_(*tests, *([] if condition is None else [condition.copy()])))

    @property
    def count(self) -> exp.Expr:
        """How many there are."""
        return self._among(exp.Count(this=exp.Star(), big_int=True))

    def mean(self, value: exp.Expr) -> exp.Expr:
        """The mean of something of theirs."""
        return self._among(exp.Avg(this=value.copy()))

    def variance(self, value: exp.Expr) -> exp.Expr:
        """Its variance, of as many as there are."""
        return self._among(exp.VariancePop(this=value.copy()))

    def deviation(self, value: exp.Expr) -> exp.Expr:
        """Its root."""
        return self._among(exp.StddevPop(this=value.copy()))

    def _among(self, aggregate: exp.Expr) -> exp.Expr:
        return exp.Filter(this=aggregate, expression=exp.Where(this=self.where.copy()))


def _product(one: exp.Expr, two: exp.Expr) -> exp.Expr:
    return exp.Mul(this=exp.Paren(this=one.copy()), expression=exp.Paren(this=two.copy()))


def _quotient(one: exp.Expr, two: exp.Expr) -> exp.Expr:
    divisor = exp.Nullif(this=two.copy(), expression=exp.Literal.number(0))
    return exp.Div(this=exp.Paren(this=one.copy()), expression=divisor)


def _less(one: exp.Expr, two: exp.Expr) -> exp.Expr:
    return exp.Sub(this=exp.Paren(this=one.copy()), expression=exp.Paren(this=two.copy()))


def _covariance(pairs: Pairs) -> exp.Expr:
    return _less(pairs.mean(_product(pairs.x, pairs.y)), _product(pairs.mean(pairs.x), pairs.mean(pairs.y)))


def _sample(pairs: Pairs) -> exp.Expr:
    return _quotient(_product(_covariance(pairs), pairs.count), _less(pairs.count, exp.Literal.number(1)))


def _within(value: exp.Expr) -> exp.Expr:
    """Between −1 and 1, where noise may lead out of it."""
    ends = (exp.LTE, exp.Neg(this=exp.Literal.number(1))), (exp.GTE, exp.Literal.number(1))
    cut = [exp.If(this=kind(this=exp.Paren(this=value.copy()), expression=end), true=end.copy()) for kind, end in ends]
    return exp.Case(ifs=cut, default=value.copy())


def _correlation(pairs: Pairs) -> exp.Expr:
    both = _product(pairs.deviation(pairs.x), pairs.deviation(pairs.y))
    return _within(_quotient(_covariance(pairs), both))


def _slope(pairs: Pairs) -> exp.Expr:
    return _quotient(_covariance(pairs), pairs.variance(pairs.x))


def _intercept(pairs: Pairs) -> exp.Expr:
    return _less(pairs.mean(pairs.y), _product(_slope(pairs), pairs.mean(pairs.x)))


def _share(pairs: Pairs) -> exp.Expr:
    return _product(_correlation(pairs), _correlation(pairs))


_FORMULAS: dict[type[exp.Expr], tuple[str, Callable[[Pairs], exp.Expr]]] = {
    exp.Corr: ("corr", _correlation),
    exp.CovarPop: ("covar_pop", _covariance),
    exp.CovarSamp: ("covar_samp", _sample),
    exp.RegrSlope: ("regr_slope", _slope),
    exp.RegrIntercept: ("regr_intercept", _intercept),
    exp.RegrR2: ("regr_r2", _share),
    exp.RegrCount: ("regr_count", lambda pairs: pairs.count),
    exp.RegrAvgx: ("regr_avgx", lambda pairs: pairs.mean(pairs.x)),
    exp.RegrAvgy: ("regr_avgy", lambda pairs: pairs.mean(pairs.y)),
    exp.RegrSxx: ("regr_sxx", lambda pairs: _product(pairs.count, pairs.variance(pairs.x))),
    exp.RegrSyy: ("regr_syy", lambda pairs: _product(pairs.count, pairs.variance(pairs.y))),
    exp.RegrSxy: ("regr_sxy", lambda pairs: _product(pairs.count, _covariance(pairs))),
}


PAIRED = tuple(_FORMULAS)


def written_out(tree: exp.Expr) -> None:
    """Put those words in place of every such aggregate of a question, but in windows."""
    for node in list(tree.find_all(*PAIRED)):
        outer = node.parent if isinstance(node.parent, exp.Filter) and node.parent.this is node else node
        one, two = node.this, node.args.get("expression")
        if isinstance(outer.parent, exp.Window) or one is None or two is None or isinstance(one, exp.Distinct):
            continue
        condition = None if outer is node else outer.expression.this
        # REGR_SLOPE(y, x); of the others the order makes no difference
        whole = exp.Paren(this=_FORMULAS[type(node)][1](Pairs.of(two, one, condition)))
        whole.meta[CALLED] = _FORMULAS[type(node)][0]
        outer.replace(whole)
