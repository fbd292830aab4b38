"""Convolutions of batches of images and of signals, and pooling."""
