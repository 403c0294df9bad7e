Feature: Values that do not exist
  Scenario: unknown model
    Given a node with 1 "A100-SXM-40GB" in MIG mode
    When 0 pods each claim one "1g.5gb"
    And a pod claims one "1g.5GB"
    And pods claim these partitions, one after another:
      | profile |
      | 3g.20gb |
      | 9g.99gb |
    Then 7 pods run, each on a partition of its own
    And the waiting pod runs within 0 seconds
