Feature: Outlines
  Scenario Outline: no examples
    Given a node with <n> "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs

  Scenario Outline: unknown placeholder and unused column
    Given a node with <m> "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs

    Examples:
      | n |
      | 1 |

  Scenario Outline: no rows
    Given a node with <n> "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs

    Examples:
      | n |
