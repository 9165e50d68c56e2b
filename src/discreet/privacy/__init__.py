"""What a promise is, as arithmetic.

A loss is a bound on what one unit's data can change, and its class is the measure: `Pure`, `Approximate`,
`Concentrated`, `Gaussian`, `Renyi`; a `Profile` for a batch that is fixed beforehand. Adding two losses is composition,
a `Guarantee` is a loss together with the neighbours it compares, and a `Budget` is a loss not yet used.
"""

from discreet.privacy.account import Allowance as Allowance
from discreet.privacy.account import Omission as Omission
from discreet.privacy.account import Total as Total
from discreet.privacy.account import account as account
from discreet.privacy.account import lifetime as lifetime
from discreet.privacy.amplify import poisson as poisson
from discreet.privacy.amplify import shuffled as shuffled
from discreet.privacy.amplify import shuffled_delta as shuffled_delta
from discreet.privacy.amplify import without_replacement as without_replacement
from discreet.privacy.budget import Budget as Budget
from discreet.privacy.budget import Odometer as Odometer
from discreet.privacy.budget import balance as balance
from discreet.privacy.calibrate import Sensitivity as Sensitivity
from discreet.privacy.calibrate import concentrated_for as concentrated_for
from discreet.privacy.calibrate import gaussian_error as gaussian_error
from discreet.privacy.calibrate import gaussian_for as gaussian_for
from discreet.privacy.calibrate import gaussian_loss_for_error as gaussian_loss_for_error
from discreet.privacy.calibrate import gaussian_tail as gaussian_tail
from discreet.privacy.calibrate import gaussian_variance as gaussian_variance
from discreet.privacy.calibrate import gaussian_variance_for as gaussian_variance_for
from discreet.privacy.calibrate import laplace_error as laplace_error
from discreet.privacy.calibrate import laplace_loss_for_error as laplace_loss_for_error
from discreet.privacy.calibrate import laplace_scale as laplace_scale
from discreet.privacy.calibrate import laplace_tail as laplace_tail
from discreet.privacy.compose import advanced as advanced
from discreet.privacy.compose import advanced_each as advanced_each
from discreet.privacy.compose import optimal as optimal
from discreet.privacy.compose import optimal_closed as optimal_closed
from discreet.privacy.compose import optimal_delta as optimal_delta
from discreet.privacy.compose import optimal_each as optimal_each
from discreet.privacy.convert import convert as convert
from discreet.privacy.convert import epsilon_at as epsilon_at
from discreet.privacy.divergence import Channel as Channel
from discreet.privacy.divergence import delta_at as delta_at
from discreet.privacy.divergence import hockey_stick as hockey_stick
from discreet.privacy.divergence import kl as kl
from discreet.privacy.divergence import max_divergence as max_divergence
from discreet.privacy.divergence import max_ratio as max_ratio
from discreet.privacy.divergence import privacy_loss as privacy_loss
from discreet.privacy.divergence import renyi_divergence as renyi_divergence
from discreet.privacy.loss import AddRemove as AddRemove
from discreet.privacy.loss import Approximate as Approximate
from discreet.privacy.loss import Concentrated as Concentrated
from discreet.privacy.loss import FilterLoss as FilterLoss
from discreet.privacy.loss import Guarantee as Guarantee
from discreet.privacy.loss import Loss as Loss
from discreet.privacy.loss import Neighbours as Neighbours
from discreet.privacy.loss import Pure as Pure
from discreet.privacy.loss import Replace as Replace
from discreet.privacy.loss import parallel as parallel
from discreet.privacy.profile import Profile as Profile
from discreet.privacy.renyi import Renyi as Renyi
from discreet.privacy.tradeoff import Gaussian as Gaussian
from discreet.privacy.tradeoff import tradeoff as tradeoff
from discreet.privacy.tradeoff import winning as winning
