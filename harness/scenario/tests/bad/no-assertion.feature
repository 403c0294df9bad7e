Feature: Nothing is asserted
  Scenario: it does something and looks away
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When 8 pods each claim one "1g.5gb"

  Scenario: it does nothing

  Scenario: twice
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs

  Scenario: twice
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs
