//! What is wrong with faults of cards.
//! Not here: what a fault does (`op::Injection`).
use super::{
    super::{
        CardFault,
        written::{Card, Check, Reason, Recovery, Source},
    },
    Lint,
};
use crate::{
    health::{EccSite, RecoveryAction, RowRemaps, SramCheck, SramSource},
    ids::{CiId, GiId},
    op::Injection,
    span::Micros,
    throttle::Throttle,
    units::Now,
};
use serde_saphyr::Spanned;

impl Lint<'_> {
    pub(super) fn card(&mut self, fault: &Spanned<Card>) -> Option<CardFault> {
        let written = &fault.value;
        let at = self.span(written.at.as_ref());
        let lasts = self.span(written.lasts.as_ref());
        let scope = self.device(&written.gpu);
        if scope.is_some_and(|scope| scope.gi.is_some()) {
            self.at(
                &written.gpu,
                "device",
                "a fault of a card is about a whole GPU".to_owned(),
                "name the GPU here; an Xid and ECC errors take `gi`",
            );
        }
        let kinds = self.kinds(written);
        let &[what] = kinds.as_slice() else {
            let (message, help) = match kinds.is_empty() {
                true => (
                    "this card has no fault",
                    "add one of xid, ecc, remaps, recovery, lost, absent, reset_required, throttle, nvlink_down",
                ),
                false => ("more than one fault", "write one item for each"),
            };
            self.at(fault, "fault", message.to_owned(), help);
            return None;
        };
        if let Some(place) = &written.lasts {
            if what.undone().is_none() {
                self.at(
                    place,
                    "for",
                    "this fault is an event: it can not be undone after a time".to_owned(),
                    "leave `for` out",
                );
            }
            if lasts == Some(Micros(0)) {
                self.at(
                    place,
                    "for",
                    "a fault that lasts no time is none".to_owned(),
                    "leave `for` out to let it stay",
                );
            }
        }
        let gpu = scope?.gpu;
        if let Some(machine) = self.machine
            && let Err(refusal) = machine.clone().inject(gpu, what, Now(0))
        {
            self.at(
                fault,
                "fault",
                refusal.to_string(),
                "name what the card has",
            );
            return None;
        }
        Some(CardFault {
            gpu,
            at: at.unwrap_or_default(),
            lasts,
            what,
            alone: written.alone,
        })
    }

    fn kinds(&self, card: &Card) -> Vec<Injection> {
        let mut kinds = Vec::new();
        if let Some(xid) = &card.xid {
            kinds.push(Injection::Xid {
                xid: xid.number,
                gi: xid.gi.map(GiId),
                ci: xid.ci.map(CiId),
            });
        }
        if let Some(ecc) = &card.ecc {
            kinds.push(Injection::Ecc {
                corrected: ecc.corrected,
                uncorrected: ecc.uncorrected,
                gi: ecc.gi.map(GiId),
                site: ecc
                    .sram
                    .as_ref()
                    .map_or(EccSite::Memory, |sram| EccSite::Sram {
                        source: match sram.source {
                            Source::L2 => SramSource::L2,
                            Source::Sm => SramSource::Sm,
                            Source::Pcie => SramSource::Pcie,
                            Source::Microcontroller => SramSource::Microcontroller,
                            Source::Other => SramSource::Other,
                        },
                        check: match sram.check {
                            Check::Parity => SramCheck::Parity,
                            Check::SecDed => SramCheck::SecDed,
                        },
                    }),
            });
        }
        if let Some(remaps) = &card.remaps {
            kinds.push(Injection::Remaps(RowRemaps {
                corrected: remaps.corrected,
                uncorrected: remaps.uncorrected,
                pending: remaps.pending,
                failed: remaps.failed,
            }));
        }
        kinds.extend(card.recovery.map(|action| {
            Injection::Recovery(match action {
                Recovery::None => RecoveryAction::None,
                Recovery::GpuReset => RecoveryAction::GpuReset,
                Recovery::NodeReboot => RecoveryAction::NodeReboot,
                Recovery::DrainP2p => RecoveryAction::DrainP2p,
                Recovery::DrainAndReset => RecoveryAction::DrainAndReset,
            })
        }));
        let switches = [
            (card.lost, Injection::Lost(true)),
            (card.absent, Injection::Absent(true)),
            (card.reset_required, Injection::ResetRequired(true)),
        ];
        kinds.extend(
            switches
                .into_iter()
                .filter(|(on, _)| *on)
                .map(|(_, what)| what),
        );
        kinds.extend(card.throttle.as_ref().map(|reasons| {
            let bits = reasons.iter().map(|reason| match reason {
                Reason::PowerCap => Throttle::POWER_CAP,
                Reason::HwSlowdown => Throttle::HW_SLOWDOWN,
                Reason::SwThermal => Throttle::SW_THERMAL,
                Reason::HwThermal => Throttle::HW_THERMAL,
                Reason::PowerBrake => Throttle::POWER_BRAKE,
            });
            Injection::Throttle(bits.fold(Throttle::default(), Throttle::with))
        }));
        kinds.extend(card.nvlink_down.as_ref().map(|link| Injection::NvLink {
            link: link.value,
            up: false,
        }));
        kinds
    }
}
