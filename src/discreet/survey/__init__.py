"""Survey: the service around clients that randomize.

A signed task says what is asked and how it is randomized, a respondent answers once, a collector counts each report
once, a shuffler takes away their order, and results are said once, with standard errors. docs/collector.md.
"""

from discreet.survey.collector import Collector as Collector
from discreet.survey.respondent import Respondent as Respondent
from discreet.survey.results import Held as Held
from discreet.survey.results import Results as Results
from discreet.survey.results import fetched as fetched
from discreet.survey.results import read_results as read_results
from discreet.survey.shuffle import Shuffler as Shuffler
from discreet.survey.task import Task as Task
from discreet.survey.task import drafted as drafted
from discreet.survey.task import fresh_ids as fresh_ids
from discreet.survey.task import packed as packed
from discreet.survey.task import read_task as read_task
from discreet.transport.device_client import Courier as Courier
from discreet.transport.signed_task import UploadReceipt as UploadReceipt
