//! Sets of certificates, on which a derived fact depends.

use ir::Name;
use smallvec::SmallVec;

/// Certificates, without repetitions.
pub type Certs = SmallVec<[Name; 2]>;

/// Adds the certificates that are not present yet.
pub fn add_certs(certs: &mut Certs, more: &[Name]) {
    for cert in more {
        if !certs.contains(cert) {
            certs.push(*cert);
        }
    }
}
