Feature: Keywords that are none
  The first card is shared.

  Senario: seven small jobs
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: mistyped first step
    Whem 8 pods each claim one "1g.5gb"
    Then 7 pods run

  Scenario: mistyped later step
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    Thne 7 pods run
    then 7 pods run

  Scenario no colon
    Given a node with 1 "L4"

  Scenario: glued
    Givena node with 1 "L4"
    Then 1 pod runs
