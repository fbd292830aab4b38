"""Parts of the header other than prototypes: constant patterns, and C declarations for other projects' interfaces."""
