@quota @needs:DRAPartitionableDevices
Feature: A quota of devices
  A ResourceQuota counts the devices that claims request of a class, when the claim is made: not those that they get, and not how
  large they are. What it counted comes back when the claim is deleted.

  @smoke
  Scenario: a quota of three admits three partitions, and the fourth when one has ended
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: small-ones}
      spec: {hard: {mig.nvidia.com.deviceclass.resource.k8s.io/devices: "3", count/resourceclaims.resource.k8s.io: "7"}}
      """
    Then quota "small-ones" counts "0" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    When pods claim these partitions, one after another:
      | profile |
      | 1g.5gb  |
      | 1g.5gb  |
      | 2g.10gb |
    Then 3 pods run, each on a partition of its own
    When a pod claims one "1g.5gb"
    Then pod "pod-4" gets no claim, and the controller says "exceeded quota: small-ones, requested: mig.nvidia.com.deviceclass.resource.k8s.io/devices=1, used: mig.nvidia.com.deviceclass.resource.k8s.io/devices=3, limited: mig.nvidia.com.deviceclass.resource.k8s.io/devices=3"
    And quota "small-ones" counts "3" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quota "small-ones" counts "3" of "count/resourceclaims.resource.k8s.io"
    And quotas and claims agree
    When pod "pod-1" ends
    Then pod "pod-4" runs within 60 seconds
    And quotas and claims agree
    And claims, counters and the card agree
    When all pods end
    Then quota "small-ones" counts "0" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"

  Scenario: a quota that is raised admits more, one that is lowered takes nothing back
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec: {hard: {mig.nvidia.com.deviceclass.resource.k8s.io/devices: "1"}}
      """
    Then quota "gpus" counts "0" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    When a pod claims one "1g.5gb"
    Then pod "pod-1" runs
    When a pod claims one "1g.5gb"
    Then pod "pod-2" gets no claim, and the controller says "exceeded quota: gpus"
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec: {hard: {mig.nvidia.com.deviceclass.resource.k8s.io/devices: "2"}}
      """
    Then pod "pod-2" runs within 60 seconds
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec: {hard: {mig.nvidia.com.deviceclass.resource.k8s.io/devices: "0"}}
      """
    Then quota "gpus" counts "2" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    And 2 pods run, each on a partition of its own
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: one-more}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: mig.nvidia.com}}]}}
      """
    Then the API server refuses it, saying "used: mig.nvidia.com.deviceclass.resource.k8s.io/devices=2, limited: mig.nvidia.com.deviceclass.resource.k8s.io/devices=0"
    And quotas and claims agree

  Scenario: a request for all devices is charged 32, whatever there are
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "31"}}
      """
    Then quota "gpus" counts "0" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: all-there-are}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}]}}
      """
    Then the API server refuses it, saying "requested: gpu.nvidia.com.deviceclass.resource.k8s.io/devices=32"
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "32"}}
      """
    Then quota "gpus" counts "0" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: all-there-are}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}]}}
      """
    When pod "greedy" uses claim "all-there-are"
    Then pod "greedy" runs
    And pod "greedy" gets "gpu-0"
    And quota "gpus" counts "32" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quotas and claims agree

  @needs:DRAPrioritizedList
  Scenario: a list of wishes is charged the most of each class, also for the wishes that are not granted
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "4", mig.nvidia.com.deviceclass.resource.k8s.io/devices: "4"}}
      """
    Then quota "gpus" counts "0" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    When pod "wishful" claims:
      """
      requests:
      - name: gpu
        firstAvailable:
        - {name: whole, deviceClassName: gpu.nvidia.com}
        - {name: two, deviceClassName: mig.nvidia.com, count: 2}
        - {name: three, deviceClassName: mig.nvidia.com, count: 3}
      """
    Then pod "wishful" runs
    And pod "wishful" gets "gpu-0"
    And quota "gpus" counts "1" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quota "gpus" counts "3" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: two-parts}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: mig.nvidia.com, count: 2}}]}}
      """
    Then the API server refuses it, saying "requested: mig.nvidia.com.deviceclass.resource.k8s.io/devices=2, used: mig.nvidia.com.deviceclass.resource.k8s.io/devices=3, limited: mig.nvidia.com.deviceclass.resource.k8s.io/devices=4"
    And quotas and claims agree

  Scenario: administrative access is charged though it takes nothing from anybody
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata: {name: own, labels: {resource.kubernetes.io/admin-access: "true"}}
      ---
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "2"}}
      """
    Then quota "gpus" counts "0" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    When a pod claims a whole card
    Then pod "pod-1" runs
    When pod "monitor" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}
      """
    Then quota "gpus" counts "2" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quotas and claims agree

  Scenario: two namespaces do not touch each other
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: ours}
      spec: {hard: {mig.nvidia.com.deviceclass.resource.k8s.io/devices: "1"}}
      """
    And another namespace, and this manifest is applied there:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: theirs}
      spec: {hard: {mig.nvidia.com.deviceclass.resource.k8s.io/devices: "2"}}
      """
    Then quota "ours" counts "0" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quota "theirs" of the other namespace counts "0" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    When a pod claims one "1g.5gb"
    Then pod "pod-1" runs
    And quota "ours" counts "1" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quota "theirs" of the other namespace counts "0" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    Given another namespace, and this manifest is applied there:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: both}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: mig.nvidia.com, count: 2}}]}}
      """
    Then quota "theirs" of the other namespace counts "2" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quota "ours" counts "1" of "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quotas and claims agree
