#if canImport(Darwin)
import Foundation

extension URLSessionConfiguration: AppleConfiguration {}

extension URLRequest: AppleRequest {}
#endif
