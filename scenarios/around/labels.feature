@around
Feature: Labels and slices tell the same cards
  Before DRA a pod chose its card by labels of the node, and both go on side by side. gpu-feature-discovery writes the labels, the
  DRA driver the slices, and each asks NVML for itself.

  Scenario: <cards> <model> on a node
    Given a node with <cards> "<model>"
    Then gpu-feature-discovery says of the cards what the slices say

    Examples:
      | cards | model          |
      | 2     | A100-SXM4-40GB |
      | 3     | L40S           |

  @needs:DRAPartitionableDevices
  Scenario: of a card that can be cut on demand the slices tell the memory that partitions can have
    Given a node with 1 "H100-SXM5-80GB"
    Then gpu-feature-discovery says of the cards what the slices say, but for:
      | label                 | value | by the slices |
      | nvidia.com/gpu.memory | 81559 | 81152         |
