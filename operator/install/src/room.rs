//! How much may be unpacked at once, by whoever installs anything in this process.
//!
//! Who comes first is served first, so that a large package is not kept waiting by small ones for ever. Nothing here touches a disk:
//! what a reservation is for, and how room is made for it, is the caller's to know.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What all reservations share.
#[derive(Debug)]
pub(crate) struct Room {
    most: u64,
    state: Mutex<State>,
    turn: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reserved: u64,
    /// The number of whoever comes next, and of whoever is next in turn.
    coming: u64,
    served: u64,
}

/// Bytes that are reserved as long as this is kept.
#[derive(Debug)]
pub(crate) struct Reserved {
    room: Arc<Room>,
    bytes: u64,
}

impl Room {
    /// Room for so many bytes.
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self {
            most,
            state: Mutex::default(),
            turn: Condvar::new(),
        })
    }

    /// The most that is reserved at once; nobody may ask for more.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many bytes are free, at most all. `make` is told how many are reserved with them, and makes room for those on the
    /// disk; nobody else reserves anything meanwhile.
    pub(crate) fn reserve<E>(
        self: &Arc<Self>,
        bytes: u64,
        make: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<Reserved, E> {
        let bytes = bytes.min(self.most);
        let mut state = self.state();
        let own = state.coming;
        state.coming += 1;
        let waits = |state: &mut State| state.served != own || state.reserved + bytes > self.most;
        state = self
            .turn
            .wait_while(state, waits)
            .unwrap_or_else(PoisonError::into_inner);
        state.served += 1;
        let made = make(state.reserved + bytes);
        if made.is_ok() {
            state.reserved += bytes;
        }
        drop(state);
        self.turn.notify_all();
        made.map(|()| Reserved {
            room: self.clone(),
            bytes,
        })
    }
}

impl Reserved {
    /// Does what makes the reservation needless, and gives it up in the same moment: nobody counts what it was for twice.
    pub(crate) fn settle<T>(mut self, last: impl FnOnce() -> T) -> T {
        let room = self.room.clone();
        let mut state = room.state();
        let done = last();
        state.reserved -= std::mem::take(&mut self.bytes);
        drop(state);
        room.turn.notify_all();
        done
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.room.state().reserved -= self.bytes;
            self.room.turn.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::mpsc};

    use super::*;

    fn free(_: u64) -> Result<(), Infallible> {
        Ok(())
    }

    #[test]
    fn no_more_is_reserved_than_there_is_room_for() {
        let room = Room::new(10);
        let Ok(first) = room.reserve(6, free);
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            // It does not fit beside the first; the small one after it would, and waits its turn.
            for bytes in [5, 1] {
                let own = room.state().coming;
                let (room, tell) = (&room, tell.clone());
                scope.spawn(move || {
                    let Ok(_reserved) = room.reserve(bytes, |all| {
                        tell.send((bytes, all)).unwrap();
                        free(all)
                    });
                });
                while room.state().coming == own {
                    std::thread::yield_now();
                }
            }
            assert!(told.try_recv().is_err());
            first.settle(|| assert!(told.try_recv().is_err(), "it is still reserved"));
        });
        let told: Vec<(u64, u64)> = told.try_iter().collect();
        assert_eq!(told[0], (5, 5));
        assert_eq!(told[1].0, 1);
        assert_eq!(room.state().reserved, 0);
    }

    #[test]
    fn what_finds_no_room_reserves_nothing() {
        let room = Room::new(10);
        assert_eq!(room.reserve(10, Err).unwrap_err(), 10);
        let Ok(reserved) = room.reserve(u64::MAX, free);
        assert_eq!(room.state().reserved, 10);
        drop(reserved);
        assert_eq!(room.state().reserved, 0);
    }
}
