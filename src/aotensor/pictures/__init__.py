"""Pictures as SVG: graph, nest, memory plan."""
