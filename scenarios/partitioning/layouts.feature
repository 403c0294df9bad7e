@partitioning @own-claims @needs:DRAPartitionableDevices
Feature: Every layout of a card, through claims
  Which layouts a card has follows from the places, slices and engines that the catalogue knows of it. Each of them can
  be claimed at once, nothing fits beside it, and what is beyond them is refused.

  Scenario: an A30 in all its layouts, and in no other
    Given a node with 1 "A30-PCIE-24GB" in MIG mode
    Then every maximal layout of the card can be claimed, and nothing fits beside it
    And no layout beyond those of the card can be claimed
    And the card is whole again
