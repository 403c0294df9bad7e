@life @needs:DRADeviceTaints
Feature: An Xid and the device that it happens on
  The driver listens for Xid events and taints the device on which one happens, so that nobody new gets it. It does so
  on whole cards and on partitions that are cut at boot; with DynamicMIG, driver 0.4.1 refuses to.

  @dra-driver-nvidia-gpu-1457
  Scenario: dra-driver-nvidia-gpu 1457: an Xid on one of two partitions taints that one, and who is there stays
    Given a node with 1 "A100-SXM4-40GB" cut into "3g.20gb, 3g.20gb" and the driver's feature gates "DynamicMIG=false, NVMLDeviceHealthCheck=true"
    Then no device has a taint
    When 2 pods each claim one "3g.20gb"
    Then 2 pods run, each on a partition of its own
    When Xid 79 happens on the device of pod "pod-1"
    Then the device of pod "pod-1" has the taint "gpu.nvidia.com/xid=79:NoSchedule", and no other device has one
    And pod "pod-1" keeps running for 3 seconds
    And claims, counters and the card agree
    When pod "pod-1" ends
    And a pod claims one "3g.20gb"
    Then pod "pod-3" waits, and the scheduler says it "cannot allocate all claims"
    When pod "pod-2" ends
    Then pod "pod-3" runs within 30 seconds

  Scenario: an Xid that an application brings upon itself keeps nobody away
    Given a node with 1 "A100-SXM4-40GB" cut into "3g.20gb, 3g.20gb" and the driver's feature gates "DynamicMIG=false, NVMLDeviceHealthCheck=true"
    When a pod claims one "3g.20gb"
    Then pod "pod-1" runs
    When Xid 31 happens on the device of pod "pod-1"
    Then the device of pod "pod-1" has the taint "gpu.nvidia.com/xid=31:None", and no other device has one
    When pod "pod-1" ends
    And 2 pods each claim one "3g.20gb"
    Then 2 pods run, each on a partition of its own

  Scenario: an Xid on a whole card keeps new claims off it
    Given a node with 2 "A100-SXM4-40GB" and the driver's feature gates "DynamicMIG=false, NVMLDeviceHealthCheck=true"
    When a pod claims a whole card
    Then pod "pod-1" runs
    When Xid 79 happens on the device of pod "pod-1"
    Then the device of pod "pod-1" has the taint "gpu.nvidia.com/xid=79:NoSchedule", and no other device has one
    When pod "pod-1" ends
    And a pod claims a whole card
    And a pod claims a whole card
    Then pod "pod-2" runs
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"

  @dra-driver-nvidia-gpu-904
  Scenario: dra-driver-nvidia-gpu 904: what happens while the API server is away is published when it is back
    Given a node with 2 "A100-SXM4-40GB" and the driver's feature gates "DynamicMIG=false, NVMLDeviceHealthCheck=true"
    Then no device has a taint
    When the API server is killed
    And Xid 79 happens on each card of the node
    And the API server starts again
    Then each device of the node has the taint "gpu.nvidia.com/xid=79:NoSchedule"

  @dra-driver-nvidia-gpu-1455 @expected-fail:dra-driver-nvidia-gpu-1455
  Scenario: dra-driver-nvidia-gpu 1455: the taint goes when the card is reset
    Given a node with 1 "A100-SXM4-40GB" and the driver's feature gates "DynamicMIG=false, NVMLDeviceHealthCheck=true"
    When Xid 79 happens on each card of the node
    Then each device of the node has the taint "gpu.nvidia.com/xid=79:NoSchedule"
    When somebody on the node resets its cards with nvidia-smi
    Then no device has a taint
