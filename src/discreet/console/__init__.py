"""The console: web pages for people who ask, people who keep data, and people whose data it is.

The pages stand on the HTTP door's own application. Whoever signs in with a token gets a session; every page asks the
same desk as the doors do. NiceGUI draws them; it is loaded when the first browser comes, so no program waits for it.

authentication, signin       lets browsers in         headers, sessions    what they may do, and who is signed in
nicegui_lockdown             NiceGUI, tied down       page_visit           one person at one page
layout, theme, navigation    how every page looks     data_dictionary      what is declared, in words and lists
upload, file_chooser         files that come          downloads, citation  files to take along
amounts                      receipts and prices      price_*              a price: its tag, its card, its slider
sql_editor, expert_panel     where one asks           answer               what came of it
release_*                    one release, old or new  survey_*             one survey, old or new
add_table, table_draft       a table that is added    tables, populations, people    what custodians keep
ask, budget, history, releases, surveys, data, ledger, promise     the pages
"""

from discreet.console.authentication import Gate as Gate
from discreet.console.authentication import mount as mount
from discreet.console.pages import Hall as Hall
from discreet.console.upload import UPLOAD as UPLOAD
