#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How the user has to sign in, if the parameters of the page say so (OpenID Connect Core, 3.1.2.1).
struct SignInDemands: Sendable, Codable {
    /// When the user may have signed in first, in seconds since 1970: at the beginning, so long ago as was asked for;
    /// `nil` for any time.
    var earliest: Double?
    /// The means of which the user has to use one; none for any.
    var acrValues: [String] = []

    init() {}

    /// Reads them from the parameters of one request, which replace those of every request.
    init(in own: QueryItems, or common: QueryItems, at date: Date) {
        func value(_ name: String) -> String? {
            (own.items.first { $0.name == name } ?? common.items.first { $0.name == name })?.value
        }
        earliest = value("max_age").flatMap { Double($0) }.map { date.timeIntervalSince1970 - $0 }
        acrValues = value("acr_values")?.split(separator: " ").map(String.init) ?? []
    }
}
