Feature: Steps in the wrong place
  Scenario: wrong keyword and wrong block
    Then a node with 1 "A100-SXM4-40GB" in MIG mode
    When 7 pods run
    And pods claim these partitions, one after another:
    And pods claim these partitions, one after another:
      | size    |
      | 3g.20gb |
    Then 1 pod runs
      """
      not wanted
      """
