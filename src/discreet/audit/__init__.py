"""Does the promise hold? An audit tries to show that it does not.

A mechanism is run many times on neighbouring inputs. One half of the outputs is searched for the most telling event;
the other half proves what that event shows, with a stated risk of a false alarm. Where outputs are few, nothing is
sampled: `enumerated` works the loss out exactly. What is too large to be run twice is audited with canaries, by
`audit_one_run`. `ZOO` holds wrong mechanisms, to see what an audit catches, and `play` is the game of Alice and Bob. No
audit shows that something is private; that takes a proof.
"""

from discreet.audit.anytime import audit_until as audit_until
from discreet.audit.claim import Specimen as Specimen
from discreet.audit.exact import Enumeration as Enumeration
from discreet.audit.exact import enumerated as enumerated
from discreet.audit.game import Game as Game
from discreet.audit.game import Round as Round
from discreet.audit.game import bound as bound
from discreet.audit.game import dealt as dealt
from discreet.audit.game import play as play
from discreet.audit.model_canaries import audit_model as audit_model
from discreet.audit.model_canaries import one_hot as one_hot
from discreet.audit.one_run import OneRun as OneRun
from discreet.audit.one_run import audit_one_run as audit_one_run
from discreet.audit.one_run import one_run_bound as one_run_bound
from discreet.audit.probability_bounds import at_least as at_least
from discreet.audit.probability_bounds import at_most as at_most
from discreet.audit.question import Question as Question
from discreet.audit.question import questioned as questioned
from discreet.audit.timing import Timed as Timed
from discreet.audit.trial import Hits as Hits
from discreet.audit.trial import Verdict as Verdict
from discreet.audit.trial import audit as audit
from discreet.audit.trial import insist as insist
from discreet.audit.zoo_hidden_leaks import OBJECTS, RARELY
from discreet.audit.zoo_wrong_data import DATA, ROWS
from discreet.audit.zoo_wrong_formulas import FORMULAS
from discreet.audit.zoo_wrong_noise import LOCAL, NOISE, SPARSE
from discreet.audit.zoo_wrong_systems import SYSTEMS

ZOO: dict[str, Specimen] = {
    specimen.name: specimen
    for specimen in (*SPARSE, *NOISE, *DATA, *LOCAL, *RARELY, *OBJECTS, *ROWS, *SYSTEMS, *FORMULAS)
}
