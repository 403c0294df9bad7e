@device-plugin
Feature: The device plugin's three MIG strategies
  Before DRA there was the device plugin, and most clusters still run it. What it offers depends on its MIG strategy:
  whole cards whatever is on them, MIG devices of one kind under the name of a card, or each kind under a name of its own.
  A pod gets its device through CDI and sees that device and no other.

  @smoke
  Scenario: without a MIG strategy cards are offered whole
    Given a node with 2 "A100-SXM4-40GB" and the device plugin with MIG strategy "none"
    Then the node's allocatable GPU resources are:
      | resource       | count |
      | nvidia.com/gpu | 2     |
    And gpu-feature-discovery labels the node with:
      | label                  | value                 |
      | nvidia.com/gpu.count   | 2                     |
      | nvidia.com/gpu.product | NVIDIA-A100-SXM4-40GB |
      | nvidia.com/gpu.memory  | 40960                 |
      | nvidia.com/gpu.family  | ampere                |
      | nvidia.com/mig.capable | true                  |
    When 3 pods each ask for one "nvidia.com/gpu"
    Then 2 pods run
    And 1 pod waits, and the scheduler says it "Insufficient nvidia.com/gpu"
    And each running pod sees 1 GPU and no MIG device
    When a running pod ends
    Then the waiting pod runs within 30 seconds
    And each running pod sees 1 GPU and no MIG device

  Scenario: one kind of MIG device under the name of a card
    Given a node with 1 "A100-SXM4-40GB" cut into "3g.20gb, 3g.20gb" and the device plugin with MIG strategy "single"
    Then the node's allocatable GPU resources are:
      | resource       | count |
      | nvidia.com/gpu | 2     |
    And gpu-feature-discovery labels the node with:
      | label                   | value                             |
      | nvidia.com/gpu.count    | 2                                 |
      | nvidia.com/gpu.product  | NVIDIA-A100-SXM4-40GB-MIG-3g.20gb |
      | nvidia.com/gpu.memory   | 20096                             |
      | nvidia.com/mig.strategy | single                            |
    When 2 pods each ask for one "nvidia.com/gpu"
    Then 2 pods run
    And each running pod sees 1 GPU and 1 MIG device

  Scenario: each kind of MIG device under a name of its own
    Given a node with 1 "A100-SXM4-40GB" cut into "3g.20gb, 2g.10gb, 1g.5gb" and the device plugin with MIG strategy "mixed"
    Then the node's allocatable GPU resources are:
      | resource               | count |
      | nvidia.com/mig-3g.20gb | 1     |
      | nvidia.com/mig-2g.10gb | 1     |
      | nvidia.com/mig-1g.5gb  | 1     |
    And gpu-feature-discovery labels the node with:
      | label                           | value |
      | nvidia.com/mig-3g.20gb.count    | 1     |
      | nvidia.com/mig-2g.10gb.memory   | 9984  |
      | nvidia.com/mig-1g.5gb.slices.gi | 1     |
      | nvidia.com/mig.strategy         | mixed |
    When a pod asks for one "nvidia.com/mig-1g.5gb"
    And a pod asks for one "nvidia.com/mig-3g.20gb"
    Then 2 pods run
    And each running pod sees 1 GPU and 1 MIG device
    When a pod asks for one "nvidia.com/mig-1g.5gb"
    Then 1 pod waits, and the scheduler says it "Insufficient nvidia.com/mig-1g.5gb"
