"""The console: web pages for people who ask, people who keep data, and people whose data it is.

The pages stand on the HTTP door's own application. Whoever signs in with a token gets a session; every page asks the
same desk as the doors do. NiceGUI draws them; it is loaded when the first browser comes, so no program waits for it.

authentication, sessions     lets browsers in, and knows who is signed in
headers, nicegui_lockdown    what browsers may do, and NiceGUI, locked down
pages                        which pages there are, their files, and one person at one page
layout, theme                how every page looks
prices, price_card           what a question costs, in numbers and on a page
sql_editor, expert_panel     where one asks           answer               what came of it
table_form, table_draft      a table that is added    data_dictionary      what is declared, in words and lists
upload, downloads            files that come, and files to take along
release_*, survey_page       one release, one survey
ask, budget, history, releases, surveys, data, tables, ledger, promise     the pages
"""

from discreet.console.authentication import Gate as Gate
from discreet.console.authentication import mount as mount
from discreet.console.pages import Host as Host
from discreet.console.upload import UPLOAD as UPLOAD
