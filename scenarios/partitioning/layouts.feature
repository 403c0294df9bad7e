@partitioning @own-claims @needs:DRAPartitionableDevices
Feature: Every layout of a card, through claims
  Which layouts a card has follows from the places, slices and engines that the catalogue knows of it. Each of them can
  be claimed at once, nothing fits beside it, and what is beyond them is refused.

  Scenario: an A30 in all its layouts, and in no other
    Given a node with 1 "A30-PCIE-24GB" in MIG mode
    Then every maximal layout of the card can be claimed, and nothing fits beside it
    And no layout beyond those of the card can be claimed
    And the card is whole again

  Scenario Outline: a <model> in some of its layouts
    Given a node with 1 "<model>" in MIG mode
    Then 3 maximal layouts, spread evenly over all <all> of the card, can be claimed, and nothing fits beside them
    And the card is whole again

    Examples:
      | model                              | all |
      | A100-SXM4-40GB                     | 44  |
      | H100-SXM5-80GB                     | 44  |
      | B200-SXM-180GB                     | 44  |
      | RTX-PRO-6000-BLACKWELL-SERVER-96GB | 64  |

  @long
  Scenario Outline: a <model> in all its layouts, and in no other
    Given a node with 1 "<model>" in MIG mode
    Then every maximal layout of the card can be claimed, and nothing fits beside it
    And no layout beyond those of the card can be claimed
    And the card is whole again

    Examples:
      | model                              |
      | A100-SXM4-40GB                     |
      | H100-SXM5-80GB                     |
      | RTX-PRO-6000-BLACKWELL-SERVER-96GB |
      | H200-SXM5-141GB                    |
      | B200-SXM-180GB                     |
      | A100-PCIE-40GB                     |
      | A100-PCIE-80GB                     |
      | A100-SXM4-80GB                     |
      | H100-NVL-94GB                      |
      | H100-PCIE-80GB                     |
      | H200-NVL-141GB                     |
