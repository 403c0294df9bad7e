@queues @needs:kubernetes-1.36 @needs:DRAPartitionableDevices
Feature: Queues that make no sense
  Absurd quotas, rings of cohorts, a configuration that cannot be: what is said about each, by whom. And the cluster stays up.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And Kueue charges:
      | resource | class          | by      |
      | mig      | mig.nvidia.com | devices |

  Scenario Outline: a quota of <quota>
    Given queue "team" holds:
      | resource | quota |
      | mig      | 1     |
    When this manifest is tried:
      """
      apiVersion: kueue.x-k8s.io/v1beta2
      kind: ClusterQueue
      metadata: {name: absurd}
      spec:
        namespaceSelector: {}
        resourceGroups:
        - coveredResources: [mig]
          flavors:
          - name: any-node
            resources:
            - {name: mig, nominalQuota: "<quota>"}
      """
    Then the API server refuses it, saying "<said>"
    When job "a" of 1 pod in queue "team" asks for one of class "mig.nvidia.com" each
    Then job "a" runs

    Examples:
      | quota | said                               |
      | -1    | must be greater than or equal to 0 |
      | many  | quantities must match              |

  Scenario Outline: a quota of <quota> is rounded up to <devices>
    Given queue "team" holds:
      | resource | quota   |
      | mig      | <quota> |
    When job "fits" of <pods> pods in queue "team" asks for one of class "mig.nvidia.com" each
    Then job "fits" runs
    When job "more" of 1 pod in queue "team" asks for one of class "mig.nvidia.com" each
    Then job "more" waits, and Kueue says "insufficient unused quota for mig"
    And each job is charged what its devices consume

    Examples:
      | quota | devices     | pods |
      | 500m  | one device  | 1    |
      | 1500m | two devices | 2    |

  Scenario: a quota beyond any integer is no limit
    Given queue "team" holds:
      | resource | quota                |
      | mig      | 99999999999999999999 |
    When job "a" of 2 pods in queue "team" asks for one of class "mig.nvidia.com" each
    Then job "a" runs
    And each job is charged what its devices consume

  Scenario: cohorts in a ring stop their queues, and no condition says why
    Given this manifest is applied:
      """
      apiVersion: kueue.x-k8s.io/v1beta2
      kind: Cohort
      metadata: {name: left}
      spec: {parentName: right}
      ---
      apiVersion: kueue.x-k8s.io/v1beta2
      kind: Cohort
      metadata: {name: right}
      spec: {parentName: left}
      """
    And queue "inside" of cohort "left" holds:
      | resource | quota | borrows | lends |
      | mig      | 1     | -       | -     |
    And queue "outside" holds:
      | resource | quota |
      | mig      | 1     |
    When job "a" of 1 pod in queue "inside" asks for one of class "mig.nvidia.com" each
    And job "b" of 1 pod in queue "outside" asks for one of class "mig.nvidia.com" each
    Then job "a" waits, and Kueue says "ClusterQueue inside is inactive"
    And the ClusterQueue "inside" says "Can admit new workloads"
    And job "b" runs

  Scenario: of a queue that is not there nothing is said
    Given queue "team" holds:
      | resource | quota |
      | mig      | 1     |
    When job "lost" of 1 pod in queue "nowhere" asks for one of class "mig.nvidia.com" each
    Then job "lost" waits, and Kueue says "Not all pods are ready"

  Scenario: a configuration that cannot be
    When Kueue is tried with:
      """
      resources:
        deviceClassMappings:
        - {name: gpu, deviceClassNames: []}
      """
    Then Kueue refuses it, saying "at least one device class name is required"
