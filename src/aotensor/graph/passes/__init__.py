"""Graph passes, and the parts that they share with IR passes: the pipeline and remarks."""
