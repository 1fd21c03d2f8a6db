"""Tests of verified entries."""
