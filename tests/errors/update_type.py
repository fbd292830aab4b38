"""An update of another dtype."""

import aotensor as aot

count = aot.shared(0, name="count")
aot.function([], updates={count: count + 0.5})
