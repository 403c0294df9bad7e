# language: de
Feature: Lines that are nothing
  Scenario: a ragged table and prose between steps
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When pods claim these partitions, one after another:
      | profile |
      | 3g.20gb | 2 |
      | 2g.10gb
    and some prose
    Then 1 pod runs
    """
    never closed
