//! `-h`.

use crate::args::Topic;

pub(crate) fn text(topic: Topic) -> &'static str {
    match topic {
        Topic::All => ALL,
        Topic::Mig => MIG,
        Topic::Policy => POLICY,
    }
}

const ALL: &str = "\
NVIDIA System Management Interface (of a fake GPU)

nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...

    -h,   --help                Print usage information and exit.
          --version             Print version information and exit.

  LIST OPTIONS:

    -L,   --list-gpus           Display a list of GPUs connected to the system.

  SUMMARY OPTIONS:

    <no arguments>              Show a summary of GPUs connected to the system.

    [plus]

    -i,   --id=                 Target a specific GPU: index, UUID or PCI address, several with commas.

  SELECTIVE QUERY OPTIONS:

          --query-gpu=          Information about GPU, fields separated by commas.
          --format=             csv[,noheader][,nounits]

  DEVICE MODIFICATION OPTIONS:

    -pm,  --persistence-mode=   Set persistence mode: 0/DISABLED, 1/ENABLED
    -c,   --compute-mode=       Set MODE for compute applications:
                                0/DEFAULT, 1/EXCLUSIVE_THREAD (deprecated), 2/PROHIBITED, 3/EXCLUSIVE_PROCESS
    -mig, --multi-instance-gpu= Enable or disable Multi Instance GPU: 0/DISABLED, 1/ENABLED. Requires root.
    -r,   --gpu-reset           Trigger reset of the GPU.

  SUBCOMMANDS:

    mig                         Multi Instance GPU management. \"nvidia-smi mig -h\" for more information.
    compute-policy              Control and query compute policies. \"nvidia-smi compute-policy -h\" for more information.
";

const MIG: &str = "\
    mig -- Multi Instance GPU management.

    Usage: nvidia-smi mig [options]

    Options include:
    [-h | --help]: Display help information.
    [-i | --id]: Enumeration index, PCI bus ID or UUID. Provide comma separated values for more than one device.
    [-gi | --gpu-instance-id]: GPU instance ID. Provide comma separated values for more than one GPU instance.
    [-ci | --compute-instance-id]: Compute instance ID. Provide comma separated values for more than one compute instance.
    [-lgip | --list-gpu-instance-profiles]: List supported GPU instance profiles.
    [-lgipp | --list-gpu-instance-possible-placements]: List possible GPU instance placements in the form {Start}:Size.
    [-C | --default-compute-instance]: Create compute instance with the default profile when used with the option to create a GPU instance (-cgi).
    [-cgi | --create-gpu-instance]: Create GPU instances for the given profile tuples: a profile name or ID and an optional
             placement start index, as in 19,9:4.
    [-dgi | --destroy-gpu-instance]: Destroy GPU instances.
    [-lgi | --list-gpu-instances]: List GPU instances.
    [-lcip | --list-compute-instance-profiles]: List supported compute instance profiles.
    [-cci | --create-compute-instance]: Create compute instances for the given profile names or IDs; without one, with the default profile.
    [-dci | --destroy-compute-instance]: Destroy compute instances.
    [-lci | --list-compute-instances]: List compute instances.
";

const POLICY: &str = "\
    compute-policy -- Control and query compute policies.

    Usage: nvidia-smi compute-policy [options]

    Options include:
    [-h | --help]: Display help information.
    [-i | --id]: Enumeration index, PCI bus ID or UUID. Provide comma separated values for more than one device.
    [-l | --list]: List all compute policies.
    [--set-timeslice]: Set timeslice config: 0=DEFAULT, 1=SHORT, 2=MEDIUM, 3=LONG
";
