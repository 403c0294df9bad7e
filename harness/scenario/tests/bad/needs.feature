@needs:DRAPartitionableDevice
Feature: What it needs is mistyped
  Scenario: it would run anywhere
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs

  Scenario: so would this one
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs

  @gates:GenericWorkloads
  Scenario: no cluster could be started for it
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    Then 1 pod runs
