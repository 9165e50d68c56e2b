"""Pictures: charts as SVG text from plain numbers and labels, for files, pages and the console.

Nothing here knows what the numbers are of. A picture needs no script, style sheet, font or request.
"""

from discreet.pictures.charts import Picture as Picture
from discreet.pictures.charts import Ruler as Ruler
from discreet.pictures.charts import Series as Series
from discreet.pictures.charts import thumbnail as thumbnail
from discreet.pictures.heatmap import Plane as Plane
