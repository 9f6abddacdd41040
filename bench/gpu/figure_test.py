"""The chart: well-formed, a bar for every measured value and none for others, heights in proportion."""
import os
import sys
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import figure  # noqa: E402

svg = ElementTree.fromstring(
    figure.bars("a < b & c", [1024, 2048], ["x", "y"], {("x", 1024): 100.0, ("x", 2048): 200.0,
                                                        ("y", 2048): 50.0}))
bars = [r for r in svg.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") == "bar"]
heights = [float(r.get("height")) for r in bars]
assert len(bars) == 3, bars
assert abs(heights[1] / heights[0] - 2) < 0.02 and abs(heights[1] / heights[2] - 4) < 0.05, heights
assert ElementTree.fromstring(figure.bars("nothing measured", [], [], {})) is not None
print("the chart is as its data")
