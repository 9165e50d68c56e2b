"""The console: web pages for people who ask, people who keep data, and people whose data it is.

The pages stand on the HTTP door's own application. Whoever signs in with a token gets a session; every page asks the
same desk as the doors do. NiceGUI draws them; it is loaded when the first browser comes, so no program waits for it.

nav       which pages there are                 sessions, cookie   who is signed in
gate      lets browsers in, and sockets         policy             what a browser may do with a page
stage     NiceGUI, tied down                    signin, pledge     the pages for strangers
visit     one person at one page                frame, theme       how every page looks
upload    files that custodians bring           dummy              made-up rows to take home
tally     receipts and prices, for people       citation           an answer to take along
editor, shelf, dial, expert, result             the parts of the page to ask
pricetag, pricecard, ladder, bars               its prices and pictures
examples, snippets                              questions to begin with, and for other programs
blueprint, plansheet, quotation, workshop       a release that is being made
exhibit, pictured, readings, registering        one that is published
listing, vignette, parcel                       all of them, and their files
survey_builder, survey_exhibit                  a survey that is being made, and one that is there
ask, budget, history, releases, surveys, data, ledger, promise     the pages
"""

from discreet.console.authentication import Gate as Gate
from discreet.console.authentication import mount as mount
from discreet.console.host import Hall as Hall
from discreet.console.upload import UPLOAD as UPLOAD
