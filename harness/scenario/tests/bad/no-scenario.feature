Feature: A feature without a scenario
  It has a description and nothing else.
