@partitioning @needs:DRAPartitionableDevices
Feature: Cards of every generation that has MIG
  How many partitions a card holds, and of what memory, is the card's own. The driver asks NVML for it and publishes
  what it is told; nothing in Kubernetes knows the models.

  Scenario Outline: a <model> holds <count> of <profile> and not one more
    Given a node with 1 "<model>" in MIG mode
    When <one more> pods each claim one "<profile>"
    Then <count> pods run, each on a partition of its own
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree

    Examples:
      | model                              | profile | count | one more |
      | A30-PCIE-24GB                      | 1g.6gb  | 4     | 5        |
      | H200-SXM5-141GB                    | 1g.18gb | 7     | 8        |
      | B200-SXM-180GB                     | 3g.90gb | 2     | 3        |
      | RTX-PRO-6000-BLACKWELL-SERVER-96GB | 1g.24gb | 4     | 5        |
