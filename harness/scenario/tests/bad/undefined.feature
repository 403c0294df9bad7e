Feature: Steps that nobody wrote
  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: a typo in a step
    When 8 pods each claims one "1g.5gb"
    Then 7 pods are running
    And a unicorn appears at 12 o'clock
      | colour |
      | pink   |
